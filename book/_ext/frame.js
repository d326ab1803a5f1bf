// @ts-check
// What the theme's buttons around the text leave undone.

// Its own handler for paper is an attribute, which the content security policy forbids.
for (const button of document.getElementsByClassName("btn-download-pdf-button")) {
  button.addEventListener("click", () => print());
}

// It blurs the buttons of menu and contents, and has then nothing to give the focus back to when these close.
for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".sidebar-toggle"))) {
  button.blur = () => {};
}

// On a narrow page menu and contents are dialogs, which would stay open above what a link in them leads to. The focus
// is given back before the link is followed, since that moves it on.
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("click", (event) => {
    const link = /** @type {Element} */ (event.target).closest("a");
    if (!link) return;
    event.preventDefault();
    dialog.addEventListener("close", () => location.assign(link.href), { once: true });
    dialog.close();
  });
}
