/** A text as gzipped UTF-8. */
export async function gzip(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}

/** Unpacks a text from `gzip`. @throws if the input is not gzip, or truncated. */
export async function gunzip(packed: ReadableStream): Promise<string> {
  return new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text();
}
