const UNSEEN = /^[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\s\u2800]*$/u;

/** Whether a text has a visible character: no blanks, control, format or glyphless characters alone. */
export function isVisible(text: string): boolean {
  return !UNSEEN.test(text);
}
