// The # beside a heading, table or figure copies its full address; so does code marked for it.
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = Object.assign(document.createElement("textarea"), { value: text }); // plain http
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

function tell(element) {
  element.classList.add("zl-copied");
  setTimeout(() => element.classList.remove("zl-copied"), 1200);
}

document.querySelectorAll(".headerlink").forEach((link) => {
  link.addEventListener("click", () => copy(link.href).then(() => tell(link)));
});

// The page of links: full addresses in the Markdown, a click copies it, and a filter.
document.querySelectorAll('[data-table="places"] code').forEach((code) => {
  code.textContent = code.textContent.replace(/\(([^()]*)\)$/, (_, to) => `(${new URL(to, location)})`);
  const button = document.createElement("button");
  code.replaceWith(button);
  button.append(code);
  button.className = "zl-copy";
  button.addEventListener("click", () => copy(code.textContent).then(() => tell(button)));
});

document.querySelectorAll("input[data-filters]").forEach((input) => {
  const rows = document.querySelectorAll(`[data-table="${input.dataset.filters}"] tbody tr`);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    rows.forEach((row) => {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    });
  });
});

// The language switch keeps the section: the place in the address while it is on the screen, else
// the last heading that was scrolled past.
function place() {
  const named = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const box = named?.getBoundingClientRect();
  if (box && box.bottom > 0 && box.top < innerHeight) return named.id;
  const top = document.querySelector(".md-header").offsetHeight + 40;
  const headings = [...document.querySelectorAll("article :is(h2, h3, h4)[id]")];
  return headings.filter((heading) => heading.getBoundingClientRect().top < top).at(-1)?.id ?? "";
}

document.querySelectorAll(".md-select__link").forEach((link) => {
  ["pointerdown", "focus", "click"].forEach((event) => {
    link.addEventListener(event, () => { link.hash = place(); });
  });
});

// What Material adds after loading: buttons are no landmark; what scrolls takes focus.
function attend() {
  document.querySelectorAll("nav.md-code__nav:not([role])").forEach((nav) => nav.setAttribute("role", "none"));
  const scrolling = ".md-typeset__scrollwrap:not([tabindex]), div.arithmatex:not([tabindex])";
  document.querySelectorAll(scrolling).forEach((box) => { box.tabIndex = 0; });
}
attend();
new MutationObserver(attend).observe(document.body, { childList: true, subtree: true });
