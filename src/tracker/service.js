/**
 * The tracking script (TRACK-1 to TRACK-5, TRACK-22 to TRACK-24): keeps the reference of a referral link in a first-party cookie, reports the click
 * once, and passes the reference on to payment pages and payment elements of a provider. `src/dev/tracker-script.ts` makes the
 * served file: HOSTS, PARAMETER, HAVING and ATTRIBUTE are filled in from `src/providers`.
 *
 * A plain script for every browser that has `fetch`. It never breaks the page. If it cannot work, it says so once in the
 * console.
 *
 * Attributes: data-program, data-cookie-days (60), data-attribution ("last", "first"), data-consent ("required"),
 * data-param (instead of ref and via; several are joined by |), data-checkout (the owner's own hosts of a provider's
 * payment pages, joined likewise), data-origin (the service's origin, for a copy hosted elsewhere). Each can be in the
 * script's own address instead, `service.js?program=prog_…&consent=required`: tag managers drop attributes. What is to be called once it is loaded can be queued before that:
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

  let quiet = (task) => (value) => {
    try {
      return task(value);
    } catch {}
  };

  /** Says once in the console why the script cannot work. */
  let warn = (text) => {
    console.warn("Service: " + text);
    warn = quiet;
  };

  let script = document.currentScript;

  /** An attribute of the script's tag, or of the script's address. */
  let option = quiet((name) => script.getAttribute("data-" + name) || new URL(script.src).searchParams.get(name));

  // A copy within another file has its tag elsewhere in the page.
  if (!option("program")) script = document.querySelector("[data-program],script[src*=prog_]");

  let program = option("program");

  // Included a second time.
  if (queue.getRef) {
    if (queue.program != program) warn("second data-program");
    return;
  }

  // The order here, and that of parts of a text, is the one that compresses best.
  /** The reference that came with this page, for where cookies are refused. */
  let kept = null;
  let domain;
  /** Whether the page waits for consent. */
  let isHeld;
  /** Keeps and reports the latest arrival, once. */
  let keep;
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

  let decode = (text) => quiet(decodeURIComponent)(text) || text;

  /**
   * A value of the slug alphabet in a cookie header or an address, whatever tools did to it (TRACK-22); of several names,
   * joined by |, the first in the text. A query within a value is another address.
   */
  let find = (text, name) =>
    (text
      .split(/[&;?]/)
      .map((part) =>
        decode(decode(part)).match(
          RegExp("^([^=]*[&;?\\s])?(" + name + ")=[ +\\p{Cf}]*([-\\w]{1,64})[^-\\w\\p{L}]*([&;?#]|$)", "u"),
        ),
      )
      .find((found) => found) || "")[3];

  /** Every suffix of the host in turn, the shortest first, as `domain`, until the task says that it is the one. */
  let someDomain = (task) =>
    location.hostname.split(".").reduceRight((is, label) => is || task((domain = "." + label + domain)), (domain = ""));

  let cookie = (name) => find(cookies() + "", "service_" + name);

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
    program,
  });

  quiet(() => {
    if (!program) return warn("no data-program");
    let origin = option("origin") || script.src;
    isHeld = option("consent") == "required";

    let report = (ref, id, url = location) => {
      let tries = 3;
      let body = JSON.stringify({
        landing: url.pathname.slice(0, 1024),
        referrer: document.referrer.slice(0, 1024),
        ref,
        program_id: program,
        // The same on every try, so that a click whose answer was lost is not counted twice.
        id,
        sub: find(url.href, "sub"),
      });
      let set = () => put("ref=" + (kept = ref), (option("cookie-days") || 60) * 86400);
      let send = async (known) => {
        if (isHeld) return;
        try {
          known = (
            await (
              await fetch(new URL("/click?kept=" + getRef() + "&" + option("attribution"), origin), {
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
          else if (known !== null) warn("no click at " + origin);
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
      let ref = find(url.href, option("param") || "ref") || find(url.href, option("param") || "via");
      // The same reference within half an hour is no click.
      if (ref && ref != kept && ref != cookie("hit"))
        report(ref, find(url.href, "service_click") || 1e20 * Math.random() + "", url);
      return ref;
    });

    // A click without an answer, a candidate's or the first.
    if (cookie("click")) report(cookie("hit"), cookie("click"));
    // A reload and going back are no arrivals. The site's own code may have cleaned the address before.
    let { name, type } = performance.getEntriesByType("navigation")[0] || location;
    void ((getRef() && /o/.test(type)) || arrive() || (name && arrive(new URL(name))));
    ["pushState", "replaceState"].map((name) => {
      let original = history[name];
      history[name] = (...url) => arrive(original.apply(history, url));
    });
    addEventListener("hashchange", () => arrive());

    // Clicks inside these are the provider's alone, and they may come late: one without the reference gets it at a time.
    // Once for each provider that has such elements (`payment_elements`).
    setInterval(
      quiet(() => getRef() && document.querySelector("[HAVING]:not([ATTRIBUTE])").setAttribute("ATTRIBUTE", getRef())),
      400,
    );
    let decorate = quiet((link, parameter) => {
      link = link.composedPath().find((node) => node.hostname);
      // Once for each provider that hosts payment pages (`payment_links`).
      if (getRef() && ("HOSTS|" + option("checkout")).split("|").includes(link.host)) {
        if (!link.search.includes((parameter = "PARAMETER=")))
          link.search += (link.search && "&") + parameter + getRef();
      }
    });
    addEventListener("click", decorate, 1);
    addEventListener("mousedown", decorate, 1);

    queue.map(service.push);
  })();
})();
