// What Streamlit mounts: finds the app's root in the address and hands over to the cached modules.
export default async function (component) {
  const { page, main } = component.data;
  const path = window.location.pathname.replace(/\/+$/, "");
  const root = path.endsWith(`/${page}`) ? path.slice(0, -page.length - 1) : path;
  const { mount } = await import(new URL(root + main, window.location.origin).href);
  return mount(component, root);
}
