// @ts-check
// The theme's button for paper. Its own handler is an attribute, which the content security policy forbids.
for (const button of document.getElementsByClassName("btn-download-pdf-button")) {
  button.addEventListener("click", () => print());
}
