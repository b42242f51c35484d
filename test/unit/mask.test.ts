import { describe, expect, it } from "vitest";
import { maskAccount, maskAddress } from "../../src/domain/mask.ts";

describe("masked payout details", () => {
  it.each([
    ["wanda@example.com", "w****@example.com"],
    ["w@example.com", "w****@example.com"],
    ['"a@b"@example.com', '"****@example.com'],
    ["@example.com", "****"],
    ["no address", "****"],
    ["", "****"],
  ])("%s reads %s", (address, masked) => expect(maskAddress(address)).toBe(masked));

  it.each([
    ["acct_1RTa2bC3dE4fG5", "acct_****4fG5"],
    ["acct_12345678", "acct_****"],
    ["something", "****hing"],
  ])("%s reads %s", (account, masked) => expect(maskAccount(account)).toBe(masked));
});
