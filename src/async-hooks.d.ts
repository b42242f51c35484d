/** What the flag `nodejs_als` gives of Node's module, as far as it is used. */
declare module "node:async_hooks" {
  export class AsyncLocalStorage<Store> {
    getStore(): Store | undefined;
    run<Value>(store: Store, made: () => Value): Value;
  }
}
