(() => {
  const script = document.currentScript;
  const { log, key, source, user, errors } = script.dataset;
  const url = new URL(`1/logs/${log}/events`, script.src);
  const open = new URL(url);
  open.search = new URLSearchParams({ apikey: key, body: "ndjson" });
  const queue = [];
  let sent = null;
  let timer = 0;
  let wait = 1e3;
  let caught = 0;
  const take = () => {
    const batch = { size: 0, body: "", id: Date.now() + "-" + Math.random() };
    while (queue.length) {
      const { at, event } = queue[0];
      const line = JSON.stringify(Date.now() - at > 5e3 ? { created: at, ...event } : event) + "\n";
      const size = new Blob([line]).size;
      if (batch.body && batch.size + size > 6e4) break;
      queue.shift();
      batch.body += line;
      batch.size += size;
    }
    return batch;
  };
  const later = () => (timer ||= setTimeout(() => void send(), wait));
  const send = async () => {
    timer = 0;
    if (sent?.busy || !(sent || queue.length)) return;
    const batch = (sent ||= take());
    batch.busy = true;
    let status = 0;
    try {
      const headers = {
        Authorization: "Bearer " + key,
        "Content-Type": "application/x-ndjson",
        "Idempotency-Key": batch.id,
      };
      ({ status } = await fetch(url, { method: "POST", headers, body: batch.body, keepalive: batch.size < 6e4 }));
    } catch {}
    batch.busy = false;
    const again = !status || status === 429 || status > 499;
    wait = again ? Math.min(wait * 2, 6e4) : 1e3;
    if (!again) sent = null;
    if (sent || queue.length) later();
  };
  const leave = () => {
    while (queue.length || (sent && !sent.busy)) {
      const batch = sent?.busy === false ? sent : take();
      if (!navigator.sendBeacon(open, batch.body)) {
        sent ||= batch;
        return;
      }
      if (batch === sent) sent = null;
    }
  };
  const loggia = (text, fields) => {
    const link = (location.origin + location.pathname).slice(0, 200);
    text = String(text).slice(0, 500);
    queue.push({ at: Date.now(), event: { source, user, link, ...fields, text } });
    if (queue.length > 2e3) queue.shift();
    later();
  };
  const fault = (error, text) => {
    if (caught++ < 50) loggia(text || error || "Error", { tags: "error", data: error?.stack?.slice(0, 5e3) });
  };
  window.loggia = loggia;
  if (errors !== undefined) {
    addEventListener("error", (event) => fault(event.error, event.message));
    addEventListener("unhandledrejection", (event) => fault(event.reason));
  }
  addEventListener("pagehide", leave);
  document.addEventListener("visibilitychange", () => document.hidden && leave());
})();
