/** The clicks that no count has yet. */
export const LEFT_TO_ROLL_UP = `(select e.* from events e join click_rollups r on r.program_id = e.program_id
  where e.uncounted = 1 and r.next_at is not null and e.id >= r.until)`;
