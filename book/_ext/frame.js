// @ts-check
// What moves in the frame of a page, and what the text lets one do.
/// <reference path="./first.js" />
"use strict";

(() => {
  const root = document.documentElement;
  /** @param {string} what @returns {HTMLElement[]} */
  const all = (what) => [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(what))];

  // Light, dark, or as the system is; the first press changes what one sees.
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", () => gruTheme());
  for (const button of all("[data-switch]")) {
    button.addEventListener("click", () => {
      const modes = system.matches ? ["auto", "light", "dark"] : ["auto", "dark", "light"];
      gruTheme(modes[(modes.indexOf(root.dataset.mode ?? "") + 1) % 3]);
    });
  }

  // Menu and contents. Where there is no room beside the text they are put into a dialog, which a link in them, Escape
  // and a press beside close. The focus is given back before the link is followed, since that moves it on.
  for (const button of all("[data-opens]")) {
    const bar = /** @type {HTMLElement} */ (document.getElementById(button.dataset.opens ?? ""));
    const dialog = /** @type {HTMLDialogElement} */ (document.getElementById(`${bar.id}-dialog`));
    button.addEventListener("click", () => {
      const beside = bar.checkVisibility();
      bar.hidden = beside && innerWidth >= 992;
      if (beside || innerWidth >= 992) return;
      dialog.append(bar);
      dialog.showModal();
      centre(bar);
    });
    dialog.addEventListener("close", () => { dialog.after(bar); button.focus(); });
    dialog.addEventListener("click", (event) => {
      const link = /** @type {Element} */ (event.target).closest("a");
      if (event.target === dialog) dialog.close();
      if (!link) return;
      event.preventDefault();
      dialog.addEventListener("close", () => location.assign(link.href), { once: true });
      dialog.close();
    });
  }

  /** Scroll the menu to the page that one reads. @param {HTMLElement | null} menu */
  function centre(menu) {
    const current = /** @type {HTMLElement | null} */ (menu?.querySelector("[aria-current=page]") ?? null);
    const top = current?.getBoundingClientRect().bottom ?? 0;
    if (menu && top > menu.clientHeight) menu.scrollTop += top - menu.clientHeight / 2;
  }
  centre(document.getElementById("menu"));

  // Buttons that unfold.
  const drops = /** @type {HTMLDetailsElement[]} */ (all(".gru-drop"));
  addEventListener("click", ({ target }) => {
    for (const drop of drops) if (!drop.contains(/** @type {Node} */ (target))) drop.open = false;
  });
  addEventListener("keydown", (event) => {
    const open = drops.find((drop) => drop.open);
    if (event.key === "Escape" && open) {
      open.open = false;
      open.querySelector("summary")?.focus();
    }
    if (event.key === "k" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      all("input[type=search]").find((field) => field.checkVisibility())?.focus();
    }
  });
  for (const button of all("[data-print]")) button.addEventListener("click", () => print());

  // The contents of the page say where one is; the way back to the top shows as one scrolls up.
  const links = /** @type {HTMLAnchorElement[]} */ (all(".gru-toc a"));
  const places = links.map(({ hash }) => document.getElementById(decodeURIComponent(hash.slice(1))));
  const [top] = all(".gru-top");
  let before = 0;
  const look = () => {
    const here = places.findLastIndex((place) => place && place.getBoundingClientRect().top < innerHeight / 4);
    links.forEach((link, i) => link.toggleAttribute("aria-current", i === here));
    top.toggleAttribute("data-shown", scrollY > innerHeight && scrollY < before);
    before = scrollY;
  };
  addEventListener("scroll", () => requestAnimationFrame(look), { passive: true });
  look();

  // What scrolls has a place in the order of Tab.
  const wide = new ResizeObserver((found) => {
    for (const { target } of found) {
      if (target.scrollWidth > target.clientWidth) target.setAttribute("tabindex", "0");
      else target.removeAttribute("tabindex");
    }
  });
  all(".gru-text pre, .gru-scroll, .gru-formula").forEach((block) => wide.observe(block));

  // Code can be copied, without prompts and what they answered.
  for (const block of all(".gru-text div.highlight")) {
    const button = document.createElement("button"), pre = /** @type {HTMLElement} */ (block.querySelector("pre"));
    Object.assign(button, { type: "button", className: "copybtn", title: "Copy", textContent: "Copy" });
    button.addEventListener("click", async () => {
      const code = /** @type {HTMLElement} */ (pre.cloneNode(true));
      code.querySelectorAll(".gp, .go, .linenos").forEach((prompt) => prompt.remove());
      try {
        await navigator.clipboard.writeText(code.textContent ?? "");
        button.textContent = "Copied";
      } catch { // not from everywhere: the reader's own keys will do it
        getSelection()?.selectAllChildren(pre);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    block.append(button);
  }

  // A figure can be taken into slides: a PNG on white. Outside the page its colours are the light ones.
  for (const figure of all(".gru-text figure:has(svg.gru-fig)")) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "copybtn", title: "Save this figure as a PNG", textContent: "PNG" });
    button.addEventListener("click", async () => {
      const drawings = /** @type {SVGSVGElement[]} */ ([...figure.querySelectorAll("svg.gru-fig")]);
      const shown = drawings.find((one) => one.checkVisibility()) ?? drawings[0];
      const copy = /** @type {SVGSVGElement} */ (shown.cloneNode(true)), fonts = getComputedStyle(root);
      for (const name of ["--gru-sans", "--gru-math"]) copy.style.setProperty(name, fonts.getPropertyValue(name));
      const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
      for (const side of /** @type {const} */ (["width", "height"])) {
        canvas[side] = 4 * shown.viewBox.baseVal[side];
        copy.setAttribute(side, `${canvas[side]}`);
      }
      const image = new Image();
      image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
      await image.decode();
      if (context === null) return;
      context.fillStyle = "#FFF";
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.drawImage(image, 0, 0);
      Object.assign(document.createElement("a"), { href: canvas.toDataURL(), download: `${figure.id}.png` }).click();
      button.textContent = "Saved";
      setTimeout(() => { button.textContent = "PNG"; }, 2000);
    });
    figure.append(button);
  }
})();
