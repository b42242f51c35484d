const UNSEEN = /^[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\s\u2800]*$/u;

/** Whether a text has a character that people see: no blank, control or format character, and none that is drawn as nothing. */
export function isVisible(text: string): boolean {
  return !UNSEEN.test(text);
}
