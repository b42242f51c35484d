/** The site of a program, played: a page with any script tag that the test gives it. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The globals that the tracking script adds to a page. */
export interface ShopPage {
  Service: { getRef(): string | null };
}

export interface Shop {
  url: string;
  /** The HTML of every page. */
  html: string;
  close(): void;
}

export async function startShop(): Promise<Shop> {
  const server = createServer((_, response) => response.setHeader("content-type", "text/html").end(shop.html));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const shop: Shop = { url: `http://127.0.0.1:${port}`, html: "", close: () => void server.close() };
  return shop;
}
