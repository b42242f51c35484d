/** Gives Node's streams the reader into a buffer that the Workers runtime has beside the standard. */

const { getReader: plainReader } = ReadableStream.prototype as { getReader: (this: ReadableStream) => unknown };

/** Reads into a buffer until it is full or the stream ends. */
function readerOfBytes(stream: ReadableStream<Uint8Array>) {
  const reader = plainReader.call(stream) as ReadableStreamDefaultReader<Uint8Array>;
  let left = new Uint8Array();
  return {
    async readAtLeast(min: number, into: Uint8Array) {
      let filled = 0;
      for (let isOver = false; filled < min && !isOver;) {
        if (left.length === 0) {
          const { done, value } = await reader.read();
          isOver = done;
          left = Uint8Array.from(value ?? []);
        }
        const part = left.subarray(0, into.length - filled);
        into.set(part, filled);
        left = left.subarray(part.length);
        filled += part.length;
      }
      return { done: filled < min, value: into.subarray(0, filled) };
    },
    cancel: () => reader.cancel(),
  };
}

export function addByteReader(): void {
  Object.defineProperty(ReadableStream.prototype, "getReader", {
    value: function getReader(this: ReadableStream, options?: { mode?: "byob" }) {
      return options?.mode === "byob" ? readerOfBytes(this) : plainReader.call(this);
    },
    configurable: true,
    writable: true,
  });
}
