import { bodyLimit } from "hono/body-limit";
import { AppError } from "../lib/errors.ts";

/** Refuses larger bodies: 413 `payload_too_large` with this message. `bytes` is the largest size that is taken. */
export function limitBodyTo(bytes: number, message: string) {
  return bodyLimit({
    maxSize: bytes,
    onError: () => {
      throw new AppError("payload_too_large", message);
    },
  });
}
