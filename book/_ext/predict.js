// @ts-check
// Predictions (predict.py): a reader commits to an answer, and is then told which is right. Nothing leaves the machine.

{
  // From file:// or where storage is forbidden an answer lives as long as the page.
  const memory = (/** @type {string} */ key, /** @type {string | null | undefined} */ value = undefined) => {
    try {
      if (value === undefined) return localStorage.getItem(key);
      if (value === null) localStorage.removeItem(key);
      else localStorage.setItem(key, value);
    } catch { /* it is not kept */ }
    return null;
  };

  /** The numbers that may be meant: with comma or point, with or without the unit, as a percentage or a share.
   * @param {string} text @param {string} unit */
  const readings = (text, unit) => {
    let plain = text.toLowerCase().replace(/\s/g, "").replace(/^[~≈]/, "").replace("−", "-");
    const bare = unit.toLowerCase().replace(/\s/g, "");
    const percent = plain.endsWith("%");
    if (percent) plain = plain.slice(0, -1);
    else if (bare && plain.endsWith(bare)) plain = plain.slice(0, -bare.length);
    const [, digits, over] = plain.match(/^([-+]?(?:\d[\d.,]*|[.,]\d+)(?:e[-+]?\d+)?)(?:\/(\d+))?$/) ?? [];
    if (!digits) return [];
    const forms = [digits.replace(",", ".")];
    if (/^[-+]?\d{1,3}(,\d{3})+(\.\d+)?$/.test(digits)) forms.push(digits.replaceAll(",", ""));
    const values = forms.map((form) => Number(form) / Number(over ?? 1)).filter(Number.isFinite);
    if (percent) return unit === "%" ? values : values.map((value) => value / 100);
    return unit === "%" && /[.,/]/.test(plain) ? [...values, ...values.map((value) => 100 * value)] : values;
  };

  const simple = (/** @type {string} */ text) => text.trim().toLowerCase().replace(/[.!?]$/, "").replace(/\s+/g, " ");

  for (const box of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".gru-predict"))) {
    const one = (/** @type {string} */ css) => /** @type {HTMLElement} */ (box.querySelector(css));
    const inputs = [...box.querySelectorAll("input")], typed = inputs[0].type === "text" ? inputs[0] : null;
    const button = one("button"), status = one("[role=status]"), why = /** @type {HTMLDetailsElement} */ (one("details"));
    const right = one("details > p"), key = `gru-predict-${box.id}`;
    const { answer, within, unit = "", words = "" } = box.dataset;
    const text = (/** @type {HTMLInputElement} */ input) => input.parentElement?.textContent?.trim() ?? "";

    const commit = () => {
      const chosen = typed ?? inputs.find((input) => input.checked);
      const said = chosen && (typed ? typed.value.trim() : text(chosen));
      if (!chosen || !said) return say(typed ? "Type an answer first." : "Choose one first.");
      const values = typed && answer ? readings(said, unit) : [];
      if (typed && answer && !values.length) return say("That is not a number: write it in digits, such as 0.5.");
      const exact = typed && answer ? values.some((value) => Math.abs(value - Number(answer)) < 1e-9) :
        typed ? words.split("|").some((word) => simple(word) === simple(said)) :
        chosen.parentElement?.hasAttribute("data-right");
      const near = !exact && values.some((value) => Math.abs(value - Number(answer)) <= Number(within) * (1 + 1e-9));
      const own = typed ? [unit && answer && /\d$/.test(said) ? `${said} ${unit}` : said] :
        [...(chosen.nextElementSibling?.cloneNode(true).childNodes ?? [])];
      const it = [...right.cloneNode(true).childNodes];
      if (exact) say("Yes: ", ...it, ".");
      else if (typed) say(near ? "Yes, near: you said " : "You said ", ...own, "; it is ", ...it, ".");
      else say("You said “", ...own, "”; right is “", ...it, "”.");
      memory(key, said);
      show(true);
    };
    const say = (/** @type {(string | Node)[]} */ ...parts) => status.replaceChildren(...parts);
    const show = (/** @type {boolean} */ committed) => {
      if (committed && inputs.some((input) => input === document.activeElement)) button.focus();
      box.toggleAttribute("data-committed", committed);
      for (const input of inputs) input.disabled = committed;
      button.textContent = committed ? "Ask me again" : "Commit";
      why.hidden = !committed;
      why.open = committed;
    };
    const again = () => {
      memory(key, null);
      for (const input of inputs) input.checked = false;
      if (typed) typed.value = "";
      say();
      show(false);
    };

    box.dataset.live = "";
    button.hidden = false;
    button.addEventListener("click", () => ("committed" in box.dataset ? again() : commit()));
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement)) return;
      event.preventDefault(); // the button gets the focus, and would be pressed by the same key
      commit();
    });
    const before = memory(key);
    const same = before && inputs.find((input) => typed || text(input) === before);
    show(false);
    if (same) {
      if (typed) same.value = before;
      else same.checked = true;
      commit();
    }
  }
}
