/** The service's own color, for programs that have not set one. */
export const SERVICE_COLOR = "#3730a3";

/** The one of white and black with more contrast on a color `#rrggbb`: at least 4.5 to 1 (WCAG 1.4.3). */
export function textColorOn(color: string): "#ffffff" | "#000000" {
  const light = luminance(color);
  return (1 + 0.05) / (light + 0.05) >= (light + 0.05) / 0.05 ? "#ffffff" : "#000000";
}

/** Relative luminance of WCAG: 0 for black, 1 for white. */
export function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
