/**
 * The tracking script (contract §10): keeps the reference of a referral link in a first-party cookie, reports the click
 * once, and passes the reference on to provider A's payment pages. `src/dev/build-tracker.ts` makes the served file.
 *
 * A plain script for every browser that has `fetch`. It never breaks the page: whatever fails, fails silently.
 *
 * Attributes: data-program, data-cookie-days (60), data-attribution ("last", "first"), data-consent ("required"),
 * data-param (instead of ref and via; several are joined by |). What is to be called once it is loaded can be queued
 * before that:
 * `(window.Service = window.Service || []).push(function (service) { … })`.
 */
(() => {
  const queue = window.Service || [];
  // Included a second time.
  if (queue.getRef) return;

  const quiet = (task) => (value) => {
    try {
      return task(value);
    } catch {}
  };

  /** The reference that came with this page, for where cookies are refused. */
  let kept = null;
  let last;
  let allowed;
  /** Keeps and reports the latest arrival. */
  let keep;

  /** All cookies, after setting one; none where they are refused. */
  const cookies = quiet((cookie) => {
    if (cookie) document.cookie = cookie + ";path=/;samesite=lax" + (location.protocol > "http:" ? ";secure" : "");
    return document.cookie;
  });

  /** A value of the slug alphabet in a cookie header or a query; of several names, joined by |, the first in the text. */
  const find = (text, name) => (RegExp("[?&; ](" + name + ")=([\\w-]{1,64})[&;]").exec(" " + text + ";") || [])[2];

  const getRef = () => find(cookies(), "service_ref") || kept;

  const service = (window.Service = {
    getRef,
    consent: () => {
      allowed = 1;
      quiet(keep)();
    },
    push: (task) => quiet(task)(service),
  });

  quiet(() => {
    const script = document.querySelector("[data-program^=prog_]");
    const options = script.dataset;
    const url = new URL("/click", script.src);
    allowed = options.consent != "required";

    const arrive = quiet(() => {
      const query = location.search;
      const ref = find(query, options.param || "ref") || find(query, options.param || "via");
      if (!ref || ref == last) return;
      last = ref;
      const body = JSON.stringify({
        program_id: options.program,
        ref,
        landing: location.pathname.slice(0, 1024),
        referrer: document.referrer.slice(0, 1024),
        // The same on every try, so that a click whose answer was lost is not counted twice.
        id: find(query, "service_click") || Math.random().toString(36),
      });
      let tries = 3;
      const send = () =>
        tries-- &&
        fetch(url, { method: "POST", body, keepalive: true }).then((answer) => answer.status < 429 || again(), again);
      const again = () => setTimeout(send, 4e3);
      keep = () => {
        keep = 0;
        const first = options.attribution == "first" && getRef();
        if (!first) kept = ref;
        // The last click of this browser, for half an hour: a reload is no click.
        const isHit = () => find(cookies(), "service_hit") == ref;
        if (isHit()) return;
        // The registrable domain is the shortest suffix of the host for which the browser takes a cookie.
        const labels = location.hostname.split(".");
        let suffix = "";
        let domain;
        do {
          domain = labels[0] ? ";domain=" + (suffix = "." + labels.pop() + suffix) : "";
          cookies("service_hit=" + ref + ";max-age=1800" + domain);
        } while (!isHit() && domain);
        if (!first) cookies("service_ref=" + ref + ";max-age=" + (options.cookieDays || 60) * 86400 + domain);
        void send();
      };
      if (allowed) keep();
    });

    // Going back to a page (2) is no arrival.
    if ((performance.navigation || 0).type != 2 || !getRef()) arrive();
    ["pushState", "replaceState"].map((name) => {
      const original = history[name];
      history[name] = function () {
        original.apply(this, arguments);
        arrive();
      };
    });

    const decorate = quiet((event) => {
      const link = event.composedPath().find((node) => node.href);
      if (getRef() && /^(buy|checkout)\.stripe\.com$/.test(link.host) && !/client_reference_id=/.test(link.search)) {
        link.search += (link.search && "&") + "client_reference_id=" + getRef();
      }
    });
    ["mousedown", "click"].map((name) => addEventListener(name, decorate, true));

    queue.map(service.push);
  })();
})();
