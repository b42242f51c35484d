/** Sets the engine up for code that is evaluated anew with every isolate: what it has learned of it is used from the first call on. */
import { setFlagsFromString } from "node:v8";

setFlagsFromString("--no-lazy-feedback-allocation");
setFlagsFromString("--always-sparkplug");
