/** How the layers above core come to a database; which one holds a program is decided in one place, `db/shards.ts`. */
export {
  boundShards,
  databaseFor,
  databasesOf,
  isBound,
  openForReads,
  openPrimary,
  type Bookmarked,
  type DatabaseBindings,
  type FurtherDatabases,
} from "../../db/shards.ts";
