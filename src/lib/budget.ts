/** A member of a group that spends from one limit. */
export interface Share {
  /** Whether `amount` may be spent; if so, counts it. Waits while others' releases may decide; alone never. */
  take(amount: number): Promise<boolean>;
  /** Corrects a taken amount by the amount really spent: negative if it was less. */
  correct(amount: number): void;
  /** Releases the rest of its part to the others, and ends its spending. */
  leave(): void;
}

interface Member {
  part: number;
  spent: number;
  waiting: { amount: number; answer: (granted: boolean) => void } | null;
}

/**
 * Shares one limit by demand. Each share can rely on its part, whatever the others do; the released rest of a part goes
 * to the first that requests it. Parts are promised in the order in which shares are opened, for as long as the limit
 * covers them: later ones use the remainder.
 */
export function openBudget(limit: number): { open(part: number): Share } {
  const members = new Set<Member>();
  let spent = 0;
  let promised = 0;

  /** The amount that `member` may spend now without touching the parts of the others. */
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
    // If all wait for each other, the parts are no longer reserved.
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
