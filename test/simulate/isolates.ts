/** The isolates of one version in a run. */
import type { Service } from "./bundle.ts";

/** The cost of an isolate is mostly its first calls: an unused one serves as a new one. */
export class Isolates {
  readonly #evaluate: () => Service;
  readonly #own = new Set<Service>();
  /** Those that serve no longer, but of which click objects may be. */
  #left: Service[] = [];
  #free: Service[] = [];

  constructor(evaluate: () => Service) {
    this.#evaluate = evaluate;
  }

  /** As new. */
  readonly make = (): Service => {
    const free = this.#free.pop();
    free?.forget();
    const made = free ?? this.#evaluate();
    this.#own.add(made);
    return made;
  };

  /** It serves no longer. */
  leave(service: Service): void {
    if (this.#own.has(service)) this.#left.push(service);
  }

  /** Those that no longer serve are free. */
  free(): void {
    this.#free.push(...this.#left);
    this.#left = [];
  }
}
