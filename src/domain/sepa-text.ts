/** The characters and lengths of texts in SEPA files (EPC217-08, SEPA Requirements for an Extended Character Set). */

/** The longest name (SEPA rulebook; the schema has 140). */
const MAX_NAME = 70;

/** Characters without a decomposition into a basic letter, and the basic ones that replace them. */
const REPLACED = new Map(
  (
    "ßss ẞSS ÆAE æae ŒOE œoe ØO øo ŁL łl ĐD đd ÐD ðd ÞTh þth ıi ĲIJ ĳij ŊN ŋn ĦH ħh ŦT ŧt ĸk ſs &+ _- @(at) €E " +
    "ΑA ΒV ΓG ΔD ΕE ΖZ ΗI ΘTh ΙI ΚK ΛL ΜM ΝN ΞX ΟO ΠP ΡR ΣS ΤT ΥY ΦF ΧCh ΨPs ΩO " +
    "αa βv γg δd εe ζz ηi θth ιi κk λl μm νn ξx οo πp ρr σs ςs τt υy φf χch ψps ωo " +
    "АA БB ВV ГG ДD ЕE ЖZh ЗZ ИI ЙY КK ЛL МM НN ОO ПP РR СS ТT УU ФF ХH ЦTs ЧCh ШSh ЩSht ЪA ЬY ЮYu ЯYa " +
    "аa бb вv гg дd еe жzh зz иi йy кk лl мm нn оo пp рr сs тt уu фf хh цts чch шsh щsht ъa ьy юyu яya " +
    "’' ‘' ‚' “' ”' „' –- —- ‐- ‑-"
  )
    .split(" ")
    .map((pair) => [pair.charAt(0), pair.slice(1)] as const),
);

const ALLOWED = /[A-Za-z0-9/\-?:().,'+ ]/;

/**
 * A text in the characters that every bank takes: accents are left out, Greek and Bulgarian letters transliterated, and
 * any other character becomes a point. Blanks are single, and removed at both ends.
 */
export function sepaText(text: string): string {
  const basic = Array.from(text, (character) => REPLACED.get(character) ?? decomposed(character)).join("");
  return basic.replaceAll(/\s+/g, " ").trim();
}

function decomposed(character: string): string {
  return Array.from(character.normalize("NFKD").replaceAll(/\p{M}/gu, ""), (part) => {
    if (/\s/.test(part)) return " ";
    return ALLOWED.test(part) ? part : (REPLACED.get(part) ?? ".");
  }).join("");
}

/** A name for a SEPA file; null if no letter or digit of it can be written. */
export function sepaName(name: string): string | null {
  const written = sepaText(name).slice(0, MAX_NAME).trim();
  return /[A-Za-z0-9]/.test(written) ? written : null;
}

/** An id as a SEPA file contains it: banks refuse `_`. */
export function sepaId(id: string): string {
  return id.replaceAll("_", "-");
}
