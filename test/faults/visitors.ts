/** Browsers that report clicks: some wait for the answer, some hang up. */
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { VISITOR, type BenchWorld } from "../bench/cases.ts";
import { rawRequest } from "../bench/load.ts";
import type { RawService } from "../bench/raw-service.ts";

/** Every click has a landing of its own, by which it is found in the log. */
export class Visitors {
  readonly sent = new Set<string>();
  readonly accepted = new Set<string>();
  readonly statuses: Record<string, number> = {};
  readonly #service: () => Pick<RawService, "url" | "port">;
  readonly #world: Pick<BenchWorld, "program_id" | "ref">;
  readonly #rate: number;
  readonly #began = performance.now();
  #over = false;
  #made = 0;

  /** `rate` is of all of them together, per second. */
  constructor(
    service: () => Pick<RawService, "url" | "port">,
    world: Pick<BenchWorld, "program_id" | "ref">,
    rate = Number.POSITIVE_INFINITY,
  ) {
    this.#service = service;
    this.#world = world;
    this.#rate = rate;
  }

  stop(): void {
    this.#over = true;
  }

  /** Reports clicks one after another until it is stopped or the service is gone. */
  async browse(): Promise<void> {
    while (!this.#over) {
      const early = this.#began + (this.#made * 1_000) / this.#rate - performance.now();
      if (early > 0) {
        // Woken together, they would all go: each looks again whether it is its turn.
        await sleep(early + Math.random() * 100);
        continue;
      }
      const { landing, body } = this.next();
      try {
        const response = await fetch(`${this.#service().url}/click`, {
          method: "POST",
          headers: { "user-agent": VISITOR, "content-type": "text/plain" },
          body,
        });
        await response.arrayBuffer();
        this.statuses[response.status] = (this.statuses[response.status] ?? 0) + 1;
        if (response.status === 202) this.accepted.add(landing);
      } catch {
        return;
      }
    }
  }

  /** Sends a click, or its beginning, and is gone before, while or after it is answered. */
  async hangUp(): Promise<void> {
    while (!this.#over) {
      const { body } = this.next();
      const socket = connect(this.#service().port, "127.0.0.1");
      await new Promise<void>((resolve) => {
        socket.on("error", () => resolve());
        socket.on("connect", () => {
          const whole = rawRequest("POST", "/click", { "User-Agent": VISITOR, "Content-Type": "text/plain" }, body);
          const isCut = Math.random() < 0.5;
          socket.write(isCut ? whole.slice(0, Math.floor(Math.random() * whole.length)) : whole);
          setTimeout(() => {
            socket.resetAndDestroy();
            resolve();
          }, Math.random() * 4);
        });
      });
    }
  }

  next(): { landing: string; body: string } {
    const landing = `/c/${this.#made++}`;
    this.sent.add(landing);
    const { program_id, ref } = this.#world;
    return { landing, body: JSON.stringify({ program_id, ref, landing, referrer: "", id: `c${this.#made}` }) };
  }
}
