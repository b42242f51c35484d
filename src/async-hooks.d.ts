/** The used part of Node's module, which the flag `nodejs_als` provides. */
declare module "node:async_hooks" {
  export class AsyncLocalStorage<Store> {
    getStore(): Store | undefined;
    run<Value>(store: Store, made: () => Value): Value;
  }
}
