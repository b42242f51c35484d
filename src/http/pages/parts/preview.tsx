import type { Children } from "../page.tsx";

/** What a form would do: the answer to one with `data-preview`, which the script shows in the `PreviewPlace` of its page. */
export function Preview({ said, children }: Children & { said: string }) {
  return (
    <div id="preview" class="preview" data-said={said}>
      {children}
    </div>
  );
}

/** Where the script shows the `Preview` of what is typed, as far as it can be; without it the form's button leads there. */
export function PreviewPlace() {
  return (
    <>
      <p class="visually-hidden" role="status" data-said="" />
      <div id="preview" class="preview" />
    </>
  );
}
