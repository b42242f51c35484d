import { listProducts } from "../../core/kernel/seen-products.ts";
import { viewProduct } from "../../core/kernel/views.ts";
import { ok, route } from "../route.ts";

/** `/api/v1/products` (PRODUCT-1). */
export const products = [
  route("GET /api/v1/products", {
    operation: "listProducts",
    tag: "Flows",
    scope: ["read"],
    summary: "List products seen in payments",
    description:
      "The products and prices that payments contained, for conditions on `product_id`: the 1,000 last seen.",
    reply: ok("ProductList", "The products, the last seen first."),
    handle: async ({ ctx }) => ({ data: (await listProducts(ctx)).map(viewProduct) }),
  }),
];
