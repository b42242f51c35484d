import { reset } from "cloudflare:test";

// The files of a project share a runtime. Starting one takes longer than most of their tests.
await reset();
