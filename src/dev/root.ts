import { fileURLToPath } from "node:url";

/** The project's folder, wherever a script was started from. */
export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
