// What Streamlit mounts: finds the app's root in the address and hands over to the cached modules.
//
// The page's own address cannot tell the root: while one page follows another it is still the old one's. Where
// Streamlit's own scripts came from can.
export default async function (component) {
  const script = document.querySelector('script[src*="/static/"]');
  const root = new URL(script.src).pathname.split("/static/")[0];
  const { mount } = await import(new URL(root + component.data.main, window.location.origin).href);
  return mount(component, root);
}
