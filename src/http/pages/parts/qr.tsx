import { encode } from "uqr";

/** Light modules around the code, as the standard asks. */
const QUIET = 4;

/** The capacity at the chosen correction: byte mode, level M, version 40. */
const MOST_BYTES = 2_331;

export interface QrCode {
  /** Modules on a side, with the quiet zone. */
  size: number;
  /** An SVG path of the dark modules, one run at a time. */
  path: string;
}

/** The QR code of a text, which tolerates 15 % damage; null if the text is too long. */
export function qrCode(text: string): QrCode | null {
  if (new TextEncoder().encode(text).length > MOST_BYTES) return null;
  const { size, data } = encode(text, { ecc: "M", border: QUIET });
  const runs = data.flatMap((row, y) =>
    row.flatMap((dark, x) => {
      if (!dark || row[x - 1] === true) return [];
      const end = row.indexOf(false, x);
      return [`M${x} ${y}h${(end < 0 ? size : end) - x}v1H${x}z`];
    }),
  );
  return { size, path: runs.join("") };
}

/** A file of its own, as a download address. */
function fileOf({ size, path }: QrCode): string {
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" width="512" height="512" shape-rendering="crispEdges">` +
    `<path fill="#fff" d="M0 0h${size}v${size}H0z"/><path d="${path}"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

/** A code to scan, dark on light in either color scheme, and to download as SVG. */
export function QrFigure({ label, text }: { label: string; text: string }) {
  const code = qrCode(text);
  if (code === null) return <p class="muted small">This link is too long for a QR code.</p>;
  const { size, path } = code;
  return (
    <div class="qr">
      <svg viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
        <path fill="#fff" d={`M0 0h${size}v${size}H0z`} />
        <path fill="#000" d={path} />
      </svg>
      <a class="button" href={fileOf(code)} download="qr-code.svg">
        Download as SVG
      </a>
    </div>
  );
}
