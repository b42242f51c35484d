import { fileURLToPath } from "node:url";

/** The project's folder, independent of the current folder. */
export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
