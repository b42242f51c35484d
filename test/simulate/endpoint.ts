/** The endpoint that gets every event: the times when it was on, and its expected deliveries. */
import type { World } from "./world.ts";

interface Span {
  from: number;
  /** Null if it was switched meanwhile: then an event may be sent or not. */
  isOn: boolean | null;
}

export class Endpoint {
  readonly #world: World;
  readonly #spans: Span[] = [];

  constructor(world: World) {
    this.#world = world;
    this.begin(0);
  }

  get isOn(): boolean {
    const [row] = this.#world.database.look<{ active: number }>(
      "select active from webhook_endpoints where id = ?",
      this.id,
    );
    return row!.active === 1;
  }

  get id(): string {
    return this.#world.endpoint_id;
  }

  /** From a moment on it is as it is now, until `end`. */
  begin(from: number): void {
    this.#spans.push({ from, isOn: this.isOn });
  }

  /** Since the last `begin` something may have switched it. */
  end(isAsked: boolean): void {
    const span = this.#spans.at(-1)!;
    if (isAsked || span.isOn !== this.isOn) span.isOn = null;
  }

  /** Events since `recently` that it was sent too often, or not at all. */
  differences(recently: string): string[] {
    const rows = this.#world.database.look<{ event_id: string; created_at: string; n: number }>(
      `select m.event_id, m.created_at, count(d.id) as n from messages m left join deliveries d on d.event_id = m.event_id
        where m.created_at > ? group by m.event_id`,
      recently,
    );
    return rows.flatMap((row) => {
      const isOn = this.#at(Date.parse(row.created_at));
      const isRight = isOn === null ? row.n <= 1 : row.n === Number(isOn);
      return isRight
        ? []
        : [`every event goes to the endpoint once while it is on: ${JSON.stringify(row)}, on: ${isOn}`];
    });
  }

  #at(moment: number): boolean | null {
    return this.#spans.findLast(({ from }) => from <= moment)!.isOn;
  }
}
