import type { Child } from "../http/jsx.ts";
import { Marked } from "../http/docs-search.tsx";
import { Table } from "../http/pages/parts/table.tsx";

/** A table of texts, whose columns share the room by their contents. */
export function TextTable({ label, head, rows }: { label: string; head: string[]; rows: Child[][] }) {
  const columns = head.map((name) => ({ label: name }));
  return <Table label={label} columns={columns} rows={rows.map((cells) => cells.map((cell) => <div>{cell}</div>))} />;
}

interface Described {
  name: string;
  type: string;
  required: boolean;
  text: string;
}

/** Parameters or fields, each with its type and its description. */
export function FieldList({ label, fields }: { label: string; fields: Described[] }) {
  return (
    <dl class="field-list" aria-label={label}>
      {fields.map(({ name, type, required, text }) => (
        <div>
          <dt>
            <code>{name}</code> <span class="muted small">{required ? `${type}, required` : type}</span>
          </dt>
          <dd>
            <Marked text={text} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
