import { describe, expect, it } from "vitest";
import { deviceOf } from "../../src/domain/device.ts";

const MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)";
const WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)";
const KIT = "AppleWebKit/537.36 (KHTML, like Gecko)";

describe("a device, from the User-Agent", () => {
  it.each([
    [`${WINDOWS} ${KIT} Chrome/142.0.0.0 Safari/537.36`, "Chrome on Windows"],
    [`${WINDOWS} ${KIT} Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0`, "Edge on Windows"],
    [`${WINDOWS} ${KIT} Chrome/142.0.0.0 Safari/537.36 OPR/120.0.0.0`, "Opera on Windows"],
    ["Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0", "Firefox on Linux"],
    [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${KIT} Chrome/142.0.0.0 Safari/537.36`, "Chrome on ChromeOS"],
    [`${MAC} AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15`, "Safari on macOS"],
    [
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/142.0 Mobile Safari/604.1",
      "Chrome on iPhone",
    ],
    [
      `Mozilla/5.0 (Linux; Android 15; SM-S931B) ${KIT} SamsungBrowser/28.0 Chrome/130.0 Mobile Safari/537.36`,
      "Samsung Internet on Android",
    ],
    ["curl/8.5.0", null],
    ["", null],
    ["Firefox/1", "Firefox"],
    ["Windows", "Windows"],
  ])("%s is %s", (text, device) => {
    expect(deviceOf(text)).toBe(device);
  });

  it("is only ever in words of ours, of the header's beginning", () => {
    expect(deviceOf("<script>alert(1)</script> Chrome/1 (Windows) \u0000")).toBe("Chrome on Windows");
    expect(deviceOf(`${"x".repeat(512)} Firefox/1 (Windows)`)).toBeNull();
  });
});
