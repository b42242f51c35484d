/** How the reference reaches provider B's checkouts: as custom data, with the program (IN-1). */
import type { SnippetValues, Vendor } from "../provider.ts";

export const checkout: Vendor["checkout"] = {
  intro: "Pass the reference, `Service.getRef()`, and your program's id as `custom_data`:",
  snippets: [
    { label: "Overlay checkout", page: overlay, server: null },
    { label: "Inline checkout", page: inline, server: null },
    { label: "Transaction made on your server", page: transactionPage, server: transaction },
  ],
  payment_links: null,
  payment_elements: null,
};

function overlay({ program_id }: SnippetValues): string {
  return `<button id="buy">Buy</button>
<script src="https://cdn.paddle.com/paddle/v2/paddle.js"></script>
<script>
  Paddle.Initialize({ token: "live_…" });
  document.querySelector("#buy").onclick = () =>
    Paddle.Checkout.open({
      items: [{ priceId: "pri_…", quantity: 1 }],
      customData: {
        service_program: "${program_id}",
        service_ref: window.Service?.getRef?.(),
      },
    });
</script>`;
}

/** Loads with the page, waits for the tracking script, and continues if a browser blocks the script. */
function inline({ program_id }: SnippetValues): string {
  return `<div class="checkout"></div>
<script src="https://cdn.paddle.com/paddle/v2/paddle.js"></script>
<script>
  Paddle.Initialize({ token: "live_…" });
  addEventListener("DOMContentLoaded", () =>
    Paddle.Checkout.open({
      settings: {
        displayMode: "inline",
        frameTarget: "checkout",
        frameInitialHeight: 450,
        frameStyle: "width: 100%; min-width: 312px; border: none",
      },
      items: [{ priceId: "pri_…", quantity: 1 }],
      customData: {
        service_program: "${program_id}",
        service_ref: window.Service?.getRef?.(),
      },
    }),
  );
</script>`;
}

function transactionPage(): string {
  return `<button id="buy">Buy</button>
<script src="https://cdn.paddle.com/paddle/v2/paddle.js"></script>
<script>
  Paddle.Initialize({ token: "live_…" });
  document.querySelector("#buy").onclick = async () => {
    const body = JSON.stringify({ ref: window.Service?.getRef?.() });
    const transactionId = await (await fetch("/checkout", { method: "POST", body })).text();
    Paddle.Checkout.open({ transactionId });
  };
</script>`;
}

function transaction({ program_id }: SnippetValues): string {
  return `// POST /checkout: the page has sent { ref }.
const transaction = await paddle.transactions.create({
  items: [{ priceId: "pri_…", quantity: 1 }],
  customData: {
    service_program: "${program_id}",
    service_ref: ref,
  },
});
return transaction.id;`;
}
