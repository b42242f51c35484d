/** One of several that spend from one limit. */
export interface Share {
  /**
   * Whether `amount` may be spent; then it counts as spent. Waits for as long as the answer depends on what others leave
   * of their parts; never for one that only spends.
   */
  take(amount: number): Promise<boolean>;
  /** Corrects what was taken by what was really spent: below 0 where it was less. */
  correct(amount: number): void;
  /** Gives the rest of its part to the others, and takes nothing more. */
  leave(): void;
}

interface Member {
  part: number;
  spent: number;
  waiting: { amount: number; answer: (granted: boolean) => void } | null;
}

/**
 * Shares one limit by demand. Each share can count on its part, whatever the others do; what one leaves of its part goes
 * to whoever asks first. Parts are promised in the order in which shares are opened, for as long as the limit covers
 * them: who comes later lives on what is left.
 */
export function openBudget(limit: number): { open(part: number): Share } {
  const members = new Set<Member>();
  let spent = 0;
  let promised = 0;

  /** What `member` may spend now without touching the parts of the others. */
  function freeFor(member: Member): number {
    let owed = 0;
    for (const other of members) if (other !== member) owed += Math.max(0, other.part - other.spent);
    return limit - spent - owed;
  }

  function grant(member: Member, amount: number): void {
    spent += amount;
    member.spent += amount;
  }

  /** Null while it depends on others. */
  function decide(member: Member, amount: number): boolean | null {
    if (spent + amount > limit) return false;
    return amount <= freeFor(member) ? true : null;
  }

  function answer(member: Member, granted: boolean): void {
    const { amount, answer: resolve } = member.waiting!;
    member.waiting = null;
    if (granted) grant(member, amount);
    resolve(granted);
  }

  function serve(): void {
    for (const member of members) {
      const judged = member.waiting && decide(member, member.waiting.amount);
      if (judged !== null) answer(member, judged);
    }
    // Where all wait for each other, the parts are no longer kept free.
    const first = members.values().next().value;
    if (first && [...members].every(({ waiting }) => waiting)) {
      answer(first, spent + first.waiting!.amount <= limit);
      serve();
    }
  }

  return {
    open(part) {
      const covered = promised + part <= limit ? part : 0;
      promised += covered;
      const member: Member = { part: covered, spent: 0, waiting: null };
      members.add(member);
      return {
        take(amount) {
          const { promise, resolve } = Promise.withResolvers<boolean>();
          member.waiting = { amount, answer: resolve };
          serve();
          return promise;
        },
        correct(amount) {
          grant(member, amount);
          serve();
        },
        leave() {
          members.delete(member);
          serve();
        },
      };
    },
  };
}
