import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { promisify } from "node:util";

/** A process that listens on a port. */
export interface PortHolder {
  pid: number;
  /** Its program, as the system calls it. */
  name: string;
}

/**
 * Who listens on a TCP port of this machine: from `/proc` on Linux, from `lsof` elsewhere. Null where nobody does, and
 * where the system does not know (another user's process, no such tool).
 */
export async function portHolder(port: number): Promise<PortHolder | null> {
  try {
    return process.platform === "linux" ? await fromProc(port) : await fromLsof(port);
  } catch {
    return null;
  }
}

const LISTENING = "0A";

async function fromProc(port: number): Promise<PortHolder | null> {
  const tables = await Promise.all(
    ["tcp", "tcp6"].map((name) => readFile(`/proc/net/${name}`, "utf8").catch(() => "")),
  );
  const inodes = new Set(
    tables
      .flatMap((table) => table.split("\n").slice(1))
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local, , state]) => state === LISTENING && Number.parseInt(local?.split(":")[1] ?? "", 16) === port)
      .map((fields) => `socket:[${fields[9]}]`),
  );
  if (inodes.size === 0) return null;
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const opened = await readdir(`/proc/${pid}/fd`).catch(() => []);
    for (const fd of opened) {
      const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => "");
      if (!inodes.has(target)) continue;
      return { pid: Number(pid), name: (await readFile(`/proc/${pid}/comm`, "utf8")).trim() };
    }
  }
  return null;
}

async function fromLsof(port: number): Promise<PortHolder | null> {
  const args = ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fpc"];
  const { stdout } = await promisify(execFile)("lsof", args, { timeout: 5_000 });
  const pid = /^p(\d+)$/m.exec(stdout)?.[1];
  return pid === undefined ? null : { pid: Number(pid), name: /^c(.+)$/m.exec(stdout)?.[1] ?? "" };
}
