/**
 * The tracking script (TRACK-1 to TRACK-5): keeps the reference of a referral link in a first-party cookie, reports the click
 * once, and passes the reference on to payment pages and payment elements of a provider. `src/dev/build-tracker.ts` makes the
 * served file: HOSTS, PARAMETER, HAVING and ATTRIBUTE are filled in from `src/providers`.
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
 * for half an hour. Where no reference is kept, a new one is kept at once, whatever its answer; its click
 * is sent again likewise.
 *
 * `Service.revoke()` forgets all that is kept, and keeps and sends nothing on that page until `Service.consent()`.
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

  // The order here, and that of parts of a text, is the one that compresses best.
  /** The reference that came with this page, for where cookies are refused. */
  let kept = null;
  let domain;
  /** Whether the page waits for consent. */
  let isHeld;
  /** Keeps and reports the latest arrival, once. */
  let keep;
  let options;
  let arrive;

  /** All cookies, after setting one; none where they are refused. A page without https refuses the secure one. */
  let cookies = quiet((cookie) => {
    if (cookie) {
      document.cookie = cookie += ";samesite=lax;path=/";
      document.cookie = cookie + ";secure";
    }
    return document.cookie;
  });

  let put = (text, age = 1800) => cookies("service_" + text + ";max-age=" + age + ";domain=" + domain);

  /** A value of the slug alphabet in a cookie header or a query; of several names, joined by |, the first in the text. */
  let find = (text, name) => ((" " + text + ";").match("[ ?&](" + name + ")=([-\\w]{1,64})[&;]") || [])[2];

  /** Every suffix of the host in turn, the shortest first, as `domain`, until the task says that it is the one. */
  let someDomain = (task) =>
    location.hostname.split(".").reduceRight((is, label) => is || task((domain = "." + label + domain)), (domain = ""));

  let cookie = (name) => find(cookies(), "service_" + name);

  let getRef = () => cookie("ref") || kept;

  let service = (window.Service = {
    revoke: quiet(() => {
      isHeld = 1;
      kept = keep = null;
      someDomain(() => {
        put("ref=", 0);
        put("hit=", 0);
      });
    }),
    consent: quiet(() => {
      isHeld = 0;
      if (keep) keep();
      // Nothing was kept on the pages before, but the tab knows their addresses.
      else if (!getRef()) navigation.entries().map((entry) => entry.url && arrive(new URL(entry.url)));
    }),
    push: (task) => quiet(task)(service),
    getRef,
  });

  quiet(() => {
    let script = document.querySelector("[data-program^=prog_]");
    options = script.dataset;
    isHeld = options.consent == "required";

    let report = (ref, id, url = location) => {
      let tries = 3;
      let body = JSON.stringify({
        landing: url.pathname.slice(0, 1024),
        referrer: document.referrer.slice(0, 1024),
        ref,
        program_id: options.program,
        // The same on every try, so that a click whose answer was lost is not counted twice.
        id,
        sub: find(url.search, "sub"),
      });
      let set = () => put("ref=" + (kept = ref), (options.cookieDays || 60) * 86400);
      let send = async (known) => {
        if (isHeld) return;
        try {
          known = (
            await (
              await fetch(new URL("/click?kept=" + getRef() + "&" + options.attribution, script.src), {
                body,
                keepalive: 1,
                method: "POST",
              })
            ).json()
          ).known;
        } catch {}
        if (isHeld) return;
        if (known == undefined) {
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
      if (!isHeld) keep();
    };

    arrive = quiet((url = location) => {
      let ref = find(url.search, options.param || "ref") || find(url.search, options.param || "via");
      // The same reference within half an hour is no click.
      if (ref && ref != kept && ref != cookie("hit"))
        report(ref, find(url.search, "service_click") || 1e20 * Math.random() + "", url);
    });

    // A click without an answer, a candidate's or the first.
    if (cookie("click")) report(cookie("hit"), cookie("click"));
    // Loading a page again (1) and going back to it (2) are no arrivals.
    if (!(getRef() && (performance.navigation || 0).type)) arrive();
    ["pushState", "replaceState"].map((name) => {
      let original = history[name];
      history[name] = (...url) => arrive(original.apply(history, url));
    });

    // Clicks inside these are the provider's alone, and they may come late: one without the reference gets it at a time.
    // Once for each provider that has such elements (`payment_elements`).
    setInterval(
      quiet(() => getRef() && document.querySelector("[HAVING]:not([ATTRIBUTE])").setAttribute("ATTRIBUTE", getRef())),
      400,
    );
    let decorate = quiet((link, parameter) => {
      link = link.composedPath().find((node) => node.hostname);
      // Once for each provider that hosts payment pages (`payment_links`).
      if (getRef() && ("HOSTS|" + options.checkout).split("|").includes(link.host)) {
        if (!link.search.includes((parameter = "PARAMETER=")))
          link.search += (link.search && "&") + parameter + getRef();
      }
    });
    addEventListener("click", decorate, 1);
    addEventListener("mousedown", decorate, 1);

    queue.map(service.push);
  })();
})();
