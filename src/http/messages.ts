/** Error messages for fields, in plain words, for every schema of the API and of forms (HTTP-2). */
import * as z from "zod";

export const NO_NUMBER = "This must be a number, with a point before its decimals.";

/** Longer lists of choices are left to the documentation. */
const MOST_CHOICES = 50;

const TYPES: Record<string, string> = {
  ...{ string: "a text", number: "a number", int: "a whole number", boolean: "true or false", array: "a list" },
  ...{ object: "an object", record: "an object", null: "null", bigint: "a whole number", date: "a date" },
};

const FORMATS: Record<string, string> = {
  ...{ email: "an e-mail address", url: "a URL", datetime: "an ISO 8601 date and time", date: "an ISO 8601 date" },
};

/** The unit of a length, by the type of the value. */
const UNITS: Record<string, string> = { string: "character", array: "item", set: "item", map: "entry", file: "byte" };

function wordsFor(issue: z.core.$ZodRawIssue): string {
  if (Number.isNaN(issue.input)) return NO_NUMBER;
  // Unions and choices report an undefined or null input as missing.
  const isMissing = issue.input === undefined || issue.input === null;
  switch (issue.code) {
    case "invalid_type":
      return isMissing
        ? "This is required."
        : `This must be ${TYPES[issue.expected] ?? `of the type ${issue.expected}`}.`;
    case "too_small":
      return bound(issue, Number(issue.minimum), issue.inclusive === false ? "more than" : "at least");
    case "too_big":
      return bound(issue, Number(issue.maximum), issue.inclusive === false ? "less than" : "at most");
    case "invalid_format":
      return formOf(issue);
    case "invalid_value":
      if (isMissing) return "This is required.";
      return choiceOf(issue.values.map(String));
    case "not_multiple_of":
      return `This must be a multiple of ${String(issue.divisor)}.`;
    case "unrecognized_keys":
      return `Not known: ${issue.keys.join(", ")}.`;
    case "invalid_union":
      return isMissing ? "This is required." : "This does not have one of the forms that are allowed.";
    case "invalid_key":
    case "invalid_element":
    case "custom":
    default:
      return isMissing ? "This is required." : "This is not valid.";
  }
}

function bound(
  issue: { origin?: string; exact?: boolean },
  amount: number,
  words: "at least" | "at most" | "more than" | "less than",
) {
  const unit = UNITS[issue.origin ?? ""];
  if (unit === undefined) return `This must be ${words} ${amount}.`;
  if (issue.origin === "string" && words === "at least" && amount === 1) return "This must not be empty.";
  const count = `${amount} ${unit === "entry" && amount !== 1 ? "entries" : amount === 1 ? unit : `${unit}s`}`;
  if (issue.origin === "string" && words === "at most") return `This is at most ${count} long.`;
  return `This must have ${issue.exact === true ? "exactly" : words} ${count}.`;
}

function formOf(issue: { format: string; prefix?: unknown; suffix?: unknown; includes?: unknown }): string {
  const form = FORMATS[issue.format];
  if (form !== undefined) return `This must be ${form}.`;
  if (typeof issue.prefix === "string") return `This must begin with ${issue.prefix}.`;
  if (typeof issue.suffix === "string") return `This must end with ${issue.suffix}.`;
  if (typeof issue.includes === "string") return `This must contain ${issue.includes}.`;
  return "This does not have the form that is needed here.";
}

function choiceOf(values: readonly string[]): string {
  if (values.length > MOST_CHOICES) return "This is not one of the values that are allowed here.";
  return values.length === 1 ? `This must be ${values[0]}.` : `This must be one of ${values.join(", ")}.`;
}

z.config({ customError: wordsFor });
