/** A fixed number of slots that pieces of work take and return, in the order of their requests. */
export interface Slots {
  /** Takes `count` slots at once, when they are free and all earlier requests are served. */
  take(count: number): Promise<void>;
  give(count: number): void;
}

/** A part of these slots, which takes at most `total` of the whole. */
export function partOf(whole: Slots, total: number): Slots {
  const own = openSlots(total);
  return {
    async take(count) {
      await own.take(count);
      await whole.take(count);
    },
    give(count) {
      whole.give(count);
      own.give(count);
    },
  };
}

/** @throws if a piece of work requests more slots than exist: it would never end. */
export function openSlots(total: number): Slots {
  let free = total;
  const waiting: { count: number; start: () => void }[] = [];
  function serve(): void {
    for (let first = waiting[0]; first && first.count <= free; first = waiting[0]) {
      waiting.shift();
      free -= first.count;
      first.start();
    }
  }
  return {
    take(count) {
      if (count > total) throw new RangeError(`only ${total} slots exist`);
      const turn = Promise.withResolvers<void>();
      waiting.push({ count, start: turn.resolve });
      serve();
      return turn.promise;
    },
    give(count) {
      free += count;
      serve();
    },
  };
}
