(() => {
  const script = document.currentScript;
  const { log, key, source, user, errors } = script.dataset;
  const url = new URL(`1/logs/${log}/events`, script.src);
  const open = new URL(url);
  open.search = new URLSearchParams({ apikey: key, body: "ndjson" });
  const queue = [];
  // Batches under way, with the halves of those that were too large.
  let sent = [];
  let timer = 0;
  let wait = 1e3;
  let caught = 0;
  const batchOf = (lines, id) => ({ lines, id, body: lines.join(""), size: new Blob(lines).size });
  const take = () => {
    const lines = [];
    let size = 0;
    while (queue.length) {
      const { at, json } = queue[0];
      const line = (Date.now() - at > 5e3 ? `{"created":${at},${json.slice(1)}` : json) + "\n";
      size += new Blob([line]).size;
      if (lines.length && size > 6e4) break;
      queue.shift();
      lines.push(line);
    }
    return batchOf(lines, Date.now() + "-" + Math.random());
  };
  const later = () => (timer ||= setTimeout(() => void send(), wait));
  const send = async () => {
    timer = 0;
    if (sent[0]?.busy || !(sent.length || queue.length)) return;
    if (!sent.length) sent = [take()];
    const [batch] = sent;
    const { lines, id, body, size } = batch;
    batch.busy = true;
    let status = 0;
    let done = false;
    try {
      const headers = {
        Authorization: "Bearer " + key,
        "Content-Type": "application/x-ndjson",
        "Idempotency-Key": id,
      };
      const answer = await fetch(url, {
        method: "POST",
        headers,
        body,
        keepalive: size < 6e4,
        redirect: "manual",
        signal: AbortSignal.timeout?.(3e4),
      });
      ({ status } = answer);
      // Only Loggia's own answers are final. A proxy answers anything while the service restarts.
      const { accepted, error } = JSON.parse(await answer.text());
      const isFinal = /201|40[01349]|41[35]/.test(status);
      done = isFinal && (status === 201 ? accepted >= 0 : error.code && error.status === status);
    } catch {}
    batch.busy = false;
    wait = done ? 1e3 : Math.min(wait * 2, 6e4);
    if (done) {
      const middle = lines.length >> 1;
      const halves = status === 413 && middle ? [lines.slice(0, middle), lines.slice(middle)] : [];
      sent.splice(0, 1, ...halves.map((half, n) => batchOf(half, id + n)));
    }
    if (sent.length || queue.length) later();
  };
  const isIdle = ({ busy }) => !busy;
  const leave = () => {
    while (queue.length || sent.some(isIdle)) {
      const batch = sent.find(isIdle) || take();
      const at = sent.indexOf(batch);
      if (!navigator.sendBeacon(open, batch.body)) {
        if (at < 0) sent.push(batch);
        return;
      }
      if (at >= 0) sent.splice(at, 1);
    }
  };
  // Cuts at a limit of events, not within a character. With its data an event fits a beacon of 64 KB.
  const cut = (text, most) => text.slice(0, most).replace(/[\uD800-\uDBFF]$/, "");
  const loggia = (given, fields) => {
    const link = cut(location.origin + location.pathname, 2e3);
    const whole = String(given);
    const text = cut(whole, 8e3);
    const event = { source, user, link, ...fields, text };
    if (text !== whole) {
      event.data ??= cut(whole, 1e4);
      event.tags = [event.tags ?? [], "cut"].flat();
    }
    // Fields that JSON cannot express are the caller's fault, and must not stop the queue.
    queue.push({ at: Date.now(), json: JSON.stringify(event) });
    if (queue.length > 2e3) queue.shift();
    later();
  };
  const fault = (error, text) => {
    if (caught++ < 50) loggia(text || error || "Error", { tags: "error", data: error?.stack && cut(error.stack, 1e4) });
  };
  window.loggia = loggia;
  if (errors !== undefined) {
    addEventListener("error", (event) => fault(event.error, event.message));
    addEventListener("unhandledrejection", (event) => fault(event.reason));
  }
  addEventListener("pagehide", leave);
  document.addEventListener("visibilitychange", () => document.hidden && leave());
})();
