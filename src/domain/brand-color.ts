/** The service's own color, where a program has none. */
export const SERVICE_COLOR = "#3730a3";

/** White or black: which of them reads better on a color `#rrggbb`, at least 4.5 to 1 (WCAG 1.4.3). */
export function textColorOn(color: string): "#ffffff" | "#000000" {
  const light = luminance(color);
  return (1 + 0.05) / (light + 0.05) >= (light + 0.05) / 0.05 ? "#ffffff" : "#000000";
}

/** As WCAG has it: 0 of black, 1 of white. */
export function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
