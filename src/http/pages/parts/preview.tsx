import type { Children } from "../page.tsx";

/** A form's effect: the reply to `data-preview`, which the script shows in the page's `PreviewPlace`. */
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
