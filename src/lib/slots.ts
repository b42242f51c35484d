/** A fixed number of places that pieces of work take and give back; whoever waits is served in turn. */
export interface Slots {
  /** Takes `count` places at once, when they are free and all who asked before have theirs. */
  take(count: number): Promise<void>;
  give(count: number): void;
}

/** A part of these places: of the whole, at most `total` are taken by it. */
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

/** @throws when a piece of work asks for more places than there are: it would never end. */
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
