// SPDX-License-Identifier: MIT
// The data of the page: base64, gzip, JSON.

/** An error whose message is for the reader. */
export class Unreadable extends Error {}

function bytesOf(base64) {
    if (Uint8Array.fromBase64)
        return Uint8Array.fromBase64(base64);
    const binary = atob(base64);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++)
        bytes[i] = binary.charCodeAt(i);
    return bytes;
}

function check(data) {
    if (data === null || typeof data !== "object" || typeof data.format !== "number")
        throw new Unreadable("The profile in this page is damaged: it is not a profile. Make the page again with 'hotpath html'.");
    if (data.format !== 1)
        throw new Unreadable(`The profile in this page has format ${data.format}, and this page reads format 1. Make the page again with 'hotpath html'.`);
    return data;
}

/** Reads the data between the tags of `element`. Throws Unreadable. */
export async function load(element) {
    const text = element?.textContent.trim() ?? "";
    if (!text)
        throw new Unreadable("There is no profile in this page: it is the template. 'hotpath html FILE' makes a page of a profile.");
    if (typeof DecompressionStream === "undefined")
        throw new Unreadable("This browser is too old for this page: it cannot decompress the profile (DecompressionStream). Chromium 80, Firefox 113 and Safari 16.4 can.");
    let data;
    try {
        const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
        data = await new Response(stream).json();
    } catch (error) {
        throw new Unreadable(`The profile in this page is damaged (${error.message}). Make the page again with 'hotpath html'.`);
    }
    element.remove();
    return check(data);
}
