import type { Context } from "hono";
import type { Child } from "../jsx.ts";
import type { Shown } from "../../core/kernel/stale.ts";
import type { PageEnv } from "../session.ts";
import { leftOutText } from "./filters.ts";
import type { Problems } from "./forms.ts";
import { Frame, PageHead, type NavigationPlace, type PageHeadProps, type Place } from "./layout.tsx";
import { page, type PageOptions } from "./page.tsx";
import { Actions, Form, type Values } from "./parts/form.tsx";
import { Notice } from "./parts/notice.tsx";
import { programText } from "./parts/shown-name.ts";

export interface FramedOptions extends PageOptions {
  /** The place in the navigation that the page belongs to. */
  at: NavigationPlace;
  /** The problems of the form that the page shows again; they set the page's status. */
  problems?: Problems | undefined;
  /** The note about the previous action, by the word in the address (`flash.ts`); unknown words are ignored. */
  done?: Record<string, Child> | undefined;
  undo?: Child;
  /** Whether the page has figures by day, which are UTC (PAGE-23). */
  utcDays?: boolean;
  /** A notice above the head. */
  notice?: Child;
  /** The head of the page, with the page's title unless it has its own. */
  head?: Partial<PageHeadProps>;
}

/** Renders a session's page in its frame, after ignored parts of its address and the last action's note. */
export function framed(c: Context<PageEnv>, options: FramedOptions, body: Child): Promise<Response> {
  const { at, problems, done = {}, undo, notice, utcDays = false, head, ...rest } = options;
  const { session, left_out } = c.var;
  const { status = problems ? (problems.status ?? 422) : 200 } = rest;
  const word = c.req.query("done");
  return page(
    c,
    { ...rest, status, title: `${rest.title} · ${programText(session.program)}` },
    <Frame session={session} at={at} utcDays={utcDays}>
      {left_out === undefined ? null : (
        <Notice tone="warn">
          <p>{leftOutText(left_out)}</p>
        </Notice>
      )}
      {status !== 200 || word === undefined || !Object.hasOwn(done, word) ? null : (
        <Notice tone="good" undo={undo}>
          <p>{done[word]}</p>
        </Notice>
      )}
      {notice}
      {head === undefined ? null : <PageHead title={rest.title} {...head} />}
      {body}
    </Frame>,
  );
}

interface FormPage extends Omit<FramedOptions, "head"> {
  /** The heading, if it is not the title. */
  heading?: Child;
  lede?: Child;
  back: Place;
  action?: string;
  values?: Values | undefined;
  shown?: Shown | undefined;
  /** The label of its button; null without a button. */
  submit: Child;
  kind?: "primary" | "danger";
  /** Further buttons. */
  more?: Child;
  /** The label of the link that leads back. */
  cancel: string;
}

/** A page with one form to fill in or to confirm. */
export function formPage(c: Context<PageEnv>, options: FormPage, body: Child): Promise<Response> {
  const { heading, lede, back, action, values, shown, submit, kind, more, cancel, ...rest } = options;
  return framed(
    c,
    { ...rest, head: { ...(heading === undefined ? {} : { title: heading }), lede, back } },
    <Form {...{ action, values, shown }} class="card stack form-narrow" problems={rest.problems}>
      {body}
      <Actions submit={submit} kind={kind} cancel={{ href: back.href, label: cancel }}>
        {more}
      </Actions>
    </Form>,
  );
}
