/** Words that make a reader stop, and the plain ones. */
export const BANNED: Record<string, RegExp> = {
  "say, show, report, notify, name": /\b(?:tell(?!er)(?:s|ing)?|told|untold)\b/i,
  "is, is stored, holds, is in force": /\b(?<!-)(?:stands?|stood)\b(?!-in\b)(?! for\b)/i,
  "name, describe, use": /\b(?:speaks?|spoken?|speaking) (?:of|to|with|for)\b/i,
  forever: /\bfor ever\b/i,
  "the result of": /\b(?:became|becomes|become) of (?!age)/i,
  "that, which; or turn the sentence round": /\bwhom\b/i,
  "in addition to": /\bbesides\b/i,
  again: /\banew\b|\bonce more\b/i,
  "automatically, alone, separately": /\bby (?:it|them)sel(?:f|ves)\b/i,
  recalculate: /\bwork(?:s|ed|ing)? (?:\w+ )?out again\b/i,
  correct: /\bput(?:s|ting)? right\b/i,
  anyway: /\ball the same\b/i,
  later: /\bat (?:their |its )?leisure\b/i,
  "be zero, fail": /\b(?:comes?|came|coming) to (?:nothing|naught)\b/i,
  "used or expired, invalid": /\b(?:is|are|was) no good\b/i,
  "nobody is at the terminal": /\bnobody sits\b/i,
  "is available": /\b(?:to be|be) had\b/i,
  "old fashioned": /\b(?:hence|thereof|therein|whereof|wherein|whence|thence|hither|thus|ought|shall|lest|albeit)\b/i,
  "British spelling":
    /\b\w*(?:colour|behaviour|honour|favour|neighbour)\w*\b|\b(?:cancelled|cancelling|recognise[sd]?|normalise[sd]?|serialise[sd]?|initialise[sd]?|organise[sd]?|authorise[sd]?|summarise[sd]?|minimise[sd]?|licence|centre)\b/i,
};
