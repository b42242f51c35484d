import { dataParam, importProduct, IMPORT_PRODUCT_IDS } from "../../import/product.ts";
import { Table } from "./table.tsx";

/** The script tag's attribute that keeps the links of an owner's previous product working. */
export function OldLinks() {
  return (
    <Table
      label="Link parameters by product"
      columns={[{ label: "Product" }, { label: "Links" }, { label: "data-param" }]}
      rows={IMPORT_PRODUCT_IDS.filter((id) => id !== "other").map((id) => {
        const { name, params, linksEnd } = importProduct(id);
        const param = dataParam(id);
        return [
          name,
          linksEnd ? "end with the code" : <code>?{params[0]}=…</code>,
          param === null ? (
            linksEnd ? (
              "–"
            ) : (
              "not needed"
            )
          ) : (
            <a href={`/dashboard/integration?links=${id}#script`}>{param}</a>
          ),
        ];
      })}
    />
  );
}
