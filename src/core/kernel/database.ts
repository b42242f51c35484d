/** Access to databases for the layers above core; only `db/shards.ts` decides which one contains a program. */
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
