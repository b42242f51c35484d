/**
 * The tracking script (TRACK-1 to TRACK-5): keeps the reference of a referral link in a first-party cookie, reports the click
 * once, and passes the reference on to payment pages that a provider hosts. `src/dev/build-tracker.ts` makes the served
 * file: HOSTS and PARAMETER are filled in from `src/providers`.
 *
 * A plain script for every browser that has `fetch`. It never breaks the page: whatever fails, fails silently.
 *
 * Attributes: data-program, data-cookie-days (60), data-attribution ("last", "first"), data-consent ("required"),
 * data-param (instead of ref and via; several are joined by |), data-checkout (the owner's own hosts of a provider's
 * payment pages, joined likewise). What is to be called once it is loaded can be queued before that:
 * `(window.Service = window.Service || []).push(function (service) { … })`.
 *
 * "An unknown reference never displaces a known one": the reference that is kept gives way only to one of which the
 * click's answer says `known: true`; with first-click attribution it says so only where the kept one leads to nobody.
 * Until then the new one is a candidate, and its click is sent again on the page and on later ones, under the same id,
 * for half an hour. Where no reference is kept, a new one is kept at once, whatever its answer.
 *
 * `Service.revoke()` forgets all that is kept, and keeps and sends nothing until `Service.consent()`.
 *
 * Cookies: `service_ref` is the reference that is kept. `service_hit` is that of the last click, for half an hour; while
 * that click has no answer, `&service_click=<id>` follows it, which reads like a query.
 */
(() => {
  // Every byte is sent to every visitor: `let` throughout, and short forms.
  let queue = window.Service || [];
  // Included a second time.
  if (queue.getRef) return;

  let quiet = (task) => (value) => {
    try {
      return task(value);
    } catch {}
  };

  /** The reference that came with this page, for where cookies are refused. */
  let kept = null;
  let options;
  let arrive;
  /** Keeps and reports the latest arrival, once. */
  let keep;
  let domain;

  /** All cookies, after setting one; none where they are refused. A page without https refuses the secure one. */
  let cookies = quiet((cookie) => {
    if (cookie) {
      document.cookie = cookie += ";path=/;samesite=lax";
      document.cookie = cookie + ";secure";
    }
    return document.cookie;
  });

  /** A value of the slug alphabet in a cookie header or a query; of several names, joined by |, the first in the text. */
  let find = (text, name) => ((" " + text + ";").match("[?& ](" + name + ")=([\\w-]{1,64})[&;]") || [])[2];

  let cookie = (name) => find(cookies(), "service_" + name);

  let put = (text, age = 1800) => cookies("service_" + text + ";max-age=" + age + ";domain=" + domain);

  /** Every suffix of the host in turn, the shortest first, as `domain`, until the task says that it is the one. */
  let someDomain = (task) =>
    location.hostname.split(".").reduceRight((is, label) => is || task((domain = "." + label + domain)), (domain = ""));

  let getRef = () => cookie("ref") || kept;

  let isHeld = () => options.consent == "required";

  let service = (window.Service = {
    getRef,
    consent: quiet(() => {
      options.consent = 1;
      if (keep) keep();
      // Nothing was kept on the pages before, but the tab knows their addresses.
      else if (!getRef()) navigation.entries().map(({ url }) => arrive(new URL(url)));
    }),
    revoke: quiet(() => {
      options.consent = "required";
      keep = kept = null;
      someDomain(() => put("hit=", 0) && put("ref=", 0) && 0);
    }),
    push: (task) => quiet(task)(service),
  });

  quiet(() => {
    let script = document.querySelector("[data-program^=prog_]");
    options = script.dataset;

    let report = (ref, id, { pathname } = location) => {
      let tries = 3;
      let set = () => put("ref=" + (kept = ref), (options.cookieDays || 60) * 86400);
      let send = async (known) => {
        if (isHeld()) return;
        try {
          known = (
            await (
              await fetch(new URL("/click?kept=" + getRef() + "&" + options.attribution, script.src), {
                method: "POST",
                body: JSON.stringify({
                  program_id: options.program,
                  ref,
                  landing: pathname.slice(0, 1024),
                  referrer: document.referrer.slice(0, 1024),
                  // The same on every try, so that a click whose answer was lost is not counted twice.
                  id,
                }),
                keepalive: 1,
              })
            ).json()
          ).known;
        } catch {}
        if (isHeld()) return;
        if (known == null) {
          if (--tries) setTimeout(send, 4e3);
        } else {
          if (cookie("click") == id) put("hit=" + ref);
          // Another click came meanwhile, and was answered before this one: its reference is kept.
          else known &= cookie("hit") != getRef();
          if (known) set();
        }
      };
      keep = () => {
        let before = cookies();
        keep = 0;
        // The registrable domain is the shortest suffix of the host for which the browser takes a cookie: of a new text.
        someDomain(() => {
          put("hit=" + ref + "&" + Math.random() + "&service_click=" + id);
          return before != cookies();
        });
        if (!getRef()) set();
        void send();
      };
      if (!isHeld()) keep();
    };

    arrive = quiet((url = location) => {
      let query = url.search;
      let ref = find(query, options.param || "ref") || find(query, options.param || "via");
      // A reload is no click.
      if (ref && ref != kept && ref != cookie("hit"))
        report(ref, find(query, "service_click") || 1e20 * Math.random() + "", url);
    });

    // A candidate without an answer.
    if (cookie("click") && cookie("hit") != getRef()) report(cookie("hit"), cookie("click"));
    // Going back to a page (2) is no arrival.
    if ((performance.navigation || 0).type != 2 || !getRef()) arrive();
    ["pushState", "replaceState"].map((name) => {
      let original = history[name];
      history[name] = (...values) => arrive(original.apply(history, values));
    });

    let decorate = quiet((link) => {
      link = link.composedPath().find((node) => node.href);
      let hosts = (options.checkout || "-").split("|");
      // Once for each provider that hosts payment pages (`payment_links`).
      if (getRef() && (HOSTS.test(link.host) || hosts.includes(link.host)) && !/PARAMETER=/.test(link.search)) {
        link.search += (link.search && "&") + "PARAMETER=" + getRef();
      }
    });
    ["mousedown", "click"].map((name) => addEventListener(name, decorate, 1));

    queue.map(service.push);
  })();
})();
