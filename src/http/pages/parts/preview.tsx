import type { Children } from "../page.tsx";

/**
 * The effect of a form: the reply to one with `data-preview`, which the script shows in the `PreviewPlace` of its page.
 */
export function Preview({ said, children }: Children & { said: string }) {
  return (
    <div id="preview" class="preview" data-said={said}>
      {children}
    </div>
  );
}

/** The script shows the `Preview` of valid input here; without the script the form's button leads to it. */
export function PreviewPlace() {
  return (
    <>
      <p class="visually-hidden" role="status" data-said="" />
      <div id="preview" class="preview" />
    </>
  );
}
