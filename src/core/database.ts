/** How the layers above core come to a database; which one holds a program is told in one place, `db/client.ts`. */
export { databaseFor } from "../db/client.ts";
